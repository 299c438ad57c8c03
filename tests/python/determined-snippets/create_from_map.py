"""Creates an experiment from a map, waits for it, and prints its number."""

import yaml
from checks import check
from determined.experimental import client

client.login(master="http://localhost:8080", user="determined", password="")
with open("experiment.yaml", encoding="utf-8") as file:
    config = yaml.safe_load(file)
experiment = client.create_experiment(config=config, model_dir="code")
check(experiment.wait(interval=0.5), client.ExperimentState.COMPLETED)
print(experiment.id)
