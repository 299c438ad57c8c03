"""Metadata of a checkpoint, and where it comes from."""

import json

from checks import EXPERIMENT_ID, check
from determined.experimental import client

uuid = client.get_experiment(EXPERIMENT_ID).top_checkpoint().uuid
checkpoint = client.get_checkpoint(uuid)
checkpoint.add_metadata({"environment": "staging", "sizes": [1, 2]})
check(client.get_checkpoint(uuid).metadata["sizes"], [1, 2])
checkpoint.write_metadata_file("metadata.json")
with open("metadata.json", encoding="utf-8") as file:
    check(json.load(file)["environment"], "staging")
checkpoint.remove_metadata(["environment", "sizes"])
checkpoint.reload()
check("environment" in checkpoint.metadata, False)
check(checkpoint.training.experiment_config["name"], "snippets")
check(checkpoint.training.experiment_id, EXPERIMENT_ID)
check(0.05 <= checkpoint.training.hparams["lr"] <= 0.2, True)
check(sum(checkpoint.resources.values()) > 0, True)
