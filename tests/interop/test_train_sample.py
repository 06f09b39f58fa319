"""samples/train_resnet.py trains over a dataset."""

import re
import subprocess
import sys

from conftest import ROOT


def test_the_sample_trains_an_epoch(dataset):
    words = ["--epochs", "1", "--size", "32", "--threads", "1", "--batch-size", "16"]
    run = subprocess.run([sys.executable, ROOT / "samples/train_resnet.py", dataset, *words], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "3 classes, 48 to train on" in run.stdout
    assert re.search(r"^epoch 0: loss \d\.\d+, validation accuracy [01]\.\d\d, \d+ images/s$", run.stdout, re.MULTILINE), run.stdout
