"""shale.torch.Loader in the loops of Lightning and Accelerate."""

import shale
import torch
from conftest import real_torchvision
from shale.torch import Loader


def test_lightning_trains_on_a_loader_and_sets_its_epoch(dataset, tmp_path):
    real_torchvision()
    import pytorch_lightning as lightning

    seen = []

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, number):
            seen.append((self.current_epoch, batch["key"]))
            return self.layer(batch["label"].float().unsqueeze(1)).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=tmp_path, use_distributed_sampler=False,
    )
    trainer.fit(Module(), Loader(dataset, 16, shuffle=True, seed=3))
    keys = shale.Dataset(dataset).column("key")
    for epoch in range(2):
        rows = [key for number, batch in seen if number == epoch for key in batch]
        assert rows == keys[shale.EpochOrder(len(keys), 3, epoch)[:]].tolist()


def test_lightning_that_leaves_epochs_early_goes_on_to_the_next(dataset, tmp_path):
    real_torchvision()
    import pytorch_lightning as lightning

    seen = []

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, batch, number):
            seen.append(batch["key"])
            return self.layer(batch["label"].float().unsqueeze(1)).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=3, limit_train_batches=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=tmp_path, use_distributed_sampler=False,
    )
    trainer.fit(Module(), Loader(dataset, 16, shuffle=True, seed=3))
    keys = shale.Dataset(dataset).column("key")
    assert seen == [keys[shale.EpochOrder(len(keys), 3, epoch)[:16]].tolist() for epoch in range(3)]


def test_accelerates_device_loop_takes_the_batches(dataset):
    real_torchvision()
    import accelerate

    accelerator = accelerate.Accelerator(cpu=True)
    model = accelerator.prepare(torch.nn.Linear(1, 1))
    for batch in Loader(dataset, 16, shuffle=True):
        accelerator.backward(model(batch["label"].float().unsqueeze(1)).mean())
