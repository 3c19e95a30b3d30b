//! A frame as an Apache Parquet file: one row group, dictionaries where they pay.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use crate::frame::{Column, Frame, Values};

impl Frame {
    /// The table as an Apache Parquet file.
    ///
    /// # Errors
    /// What the library says, as one line; it has no reason to fail.
    pub fn to_parquet(&self) -> Result<Vec<u8>, String> {
        let one_line = |error: ParquetError| error.to_string().replace('\n', " ");
        write(self).map_err(|error| format!("cannot write Parquet: {}", one_line(error)))
    }
}

fn write(frame: &Frame) -> Result<Vec<u8>, ParquetError> {
    let fields = frame.columns().iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
    // The version of the library must not change the bytes of a result.
    let properties = WriterProperties::builder().set_created_by("tresse".into()).build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in frame.columns() {
        let Some(mut writer) = group.next_column()? else { break };
        write_column(&mut writer, &column.values)?;
        writer.close()?;
    }
    group.close()?;
    file.into_inner()
}

fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical, repetition) = match column.values {
        Values::Text(_) => {
            (PhysicalType::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED)
        }
        Values::Integer(_) => (PhysicalType::INT64, None, Repetition::OPTIONAL),
        Values::Real(_) => (PhysicalType::DOUBLE, None, Repetition::OPTIONAL),
    };
    let builder = Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition);
    Ok(Arc::new(builder.build()?))
}

fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    values: &Values,
) -> Result<(), ParquetError> {
    match values {
        Values::Text(v) => {
            let bytes: Vec<ByteArray> = v.iter().map(|t| ByteArray::from(t.as_str())).collect();
            writer.typed::<ByteArrayType>().write_batch(&bytes, None, None)?;
        }
        Values::Integer(v) => {
            let (present, levels) = present(v);
            writer.typed::<Int64Type>().write_batch(&present, Some(&levels), None)?;
        }
        Values::Real(v) => {
            let (present, levels) = present(v);
            writer.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?;
        }
    }
    Ok(())
}

/// The values that there are, and for each row whether it has one (its definition level).
fn present<T: Copy>(values: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let levels = values.iter().map(|v| i16::from(v.is_some())).collect();
    (values.iter().copied().flatten().collect(), levels)
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    use super::*;

    #[test]
    fn what_is_written_can_be_read_again() {
        let frame = Frame::default()
            .text("series", vec!["a".into(), "b".into(), "a".into()])
            .integer("tsn", vec![Some(7), None, Some(9)])
            .real("ms", vec![Some(0.5), Some(1.5), None]);
        let bytes = frame.to_parquet().unwrap();
        assert_eq!(bytes, frame.to_parquet().unwrap());
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows.len(), 3);
        assert!(rows[0].contains("series: \"a\"") && rows[0].contains("tsn: 7"), "{}", rows[0]);
        assert!(rows[1].contains("tsn: null") && rows[2].contains("ms: null"), "{rows:?}");
    }
}
