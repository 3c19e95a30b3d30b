"""The Python of the guide runs."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs/python.md"


@pytest.mark.skipif(not GUIDE.exists(), reason="without the repository there is no guide")
def test_blocks_run(tmp_path, monkeypatch, small):
    import tresse

    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) == 6
    monkeypatch.chdir(tmp_path)
    captures = tmp_path / "captures"
    tresse.Experiment.from_toml(small).run("results", capture=captures)
    for end in ("sender", "receiver"):
        sorted(captures.glob(f"*{end}*.pcapng"))[0].rename(f"{end}.pcapng")
    campaign = tresse.campaign
    # Without a cluster at that address.
    monkeypatch.setattr(tresse, "campaign", lambda experiments, on: campaign(experiments[0]))
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)
