"""determined.optuna: studies of Optuna that answer the questions of a search."""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import optuna

    from determined import _sampler
    from determined import optuna as det_optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
except ImportError as problem:
    raise unittest.SkipTest(f"Optuna is not installed: {problem}") from None

SPACE = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "width": {"type": "int", "minval": 8, "maxval": 64},
    "opt": {
        "name": {"type": "categorical", "vals": ["sgd", "adam"]},
        "momentum": {"type": "double", "minval": 0, "maxval": 1},
        "nesterov": {"type": "const", "val": True},
    },
    "shape": {"type": "categorical", "vals": [1, True, [1, 2], "1", None]},
    "steps": 16,
}
LINE = {"x": {"type": "double", "minval": -10, "maxval": 10}, "y": {"type": "double", "minval": -10, "maxval": 10}}


class Search:
    """A search in memory: asks for a trial, and ends it with what a function says."""

    def __init__(self, make_study, space=None, smaller_is_better=True, metrics=None, seed=1):
        self.make_study, self.metrics, self.seed = make_study, metrics, seed
        self.space = SPACE if space is None else space
        self.smaller_is_better = smaller_is_better
        self.trials = []

    def request(self, question, trial):
        search = {
            "sampler": 1,
            "experiment": 7,
            "seed": self.seed,
            "max_trials": 100,
            "searcher": {"metric": "loss", "smaller_is_better": self.smaller_is_better},
            "hyperparameters": self.space,
        }
        return [json.dumps(line) for line in [search, *self.trials, {"question": question, "trial": trial}]]

    def ask(self, question="begin", trial=None, **options):
        trial = len(self.trials) if trial is None else trial
        request = _sampler.parse_request(self.request(question, trial))
        answer = det_optuna.answer(request, self.make_study, self.metrics, **options)
        return json.loads(json.dumps(answer))

    def begin(self):
        answer = self.ask()
        self.trials.append(
            {
                "trial": len(self.trials),
                "state": "running",
                "hyperparameters": answer["hyperparameters"],
                "metric": None,
                "validations": [],
                "last_validation": {},
            }
        )
        if "note" in answer:
            self.trials[-1]["note"] = answer["note"]
        return answer["hyperparameters"]

    def report(self, trial, values, state="running"):
        told = self.trials[trial]
        told["validations"] = [[step, value] for step, value in enumerate(values, 1)]
        finite = [value for value in values if isinstance(value, float) and math.isfinite(value)]
        best = min if self.smaller_is_better else max
        told["metric"] = best(finite) if finite else None
        told["last_validation"] = {"loss": values[-1]} if values else {}
        told["state"] = state

    def run(self, count, loss):
        for _ in range(count):
            chosen = self.begin()
            self.report(len(self.trials) - 1, [loss(chosen)], "completed")
        return min(told["metric"] for told in self.trials)


def tpe(seed):
    return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=5))


def random_study(seed):
    return optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))


def patient_hyperband(seed):
    inner = optuna.pruners.HyperbandPruner()
    return optuna.create_study(pruner=optuna.pruners.PatientPruner(inner, 1))


def partly_quasi_random(seed):
    inner = optuna.samplers.QMCSampler(seed=seed)
    return optuna.create_study(sampler=optuna.samplers.PartialFixedSampler({"x": 1.0}, inner))


def constrained(seed):
    return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, constraints_func=lambda trial: [0.0]))


def distance(chosen):
    return (chosen["x"] - 3) ** 2 + (chosen["y"] + 2) ** 2


class OptunaTest(unittest.TestCase):
    def test_every_kind_of_hyperparameter_is_chosen_in_its_range(self):
        search = Search(random_study)
        names, shapes = set(), set()
        for _ in range(60):
            chosen = search.begin()
            self.assertEqual(set(chosen), {"lr", "width", "opt", "shape"})  # constants are left out
            self.assertEqual(set(chosen["opt"]), {"name", "momentum"})
            self.assertTrue(0.0001 <= chosen["lr"] <= 0.1)
            self.assertIn(chosen["width"], range(8, 65))
            self.assertIsInstance(chosen["width"], int)
            self.assertTrue(0 <= chosen["opt"]["momentum"] <= 1)
            names.add(chosen["opt"]["name"])
            shapes.add(json.dumps(chosen["shape"]))
        self.assertEqual(names, {"sgd", "adam"})
        self.assertEqual(shapes, {"1", "true", "[1, 2]", '"1"', "null"})
        logs = [math.log10(told["hyperparameters"]["lr"]) for told in search.trials]
        self.assertTrue(15 <= sum(value < -2.5 for value in logs) <= 45)  # even in the exponent

    def test_the_same_request_has_the_same_answer_and_another_seed_another_one(self):
        search = Search(tpe)
        search.run(8, lambda chosen: chosen["lr"])
        self.assertEqual(search.ask(), search.ask())
        first = search.ask()
        search.seed = 2
        self.assertNotEqual(search.ask(), first)
        self.assertEqual(len({told["hyperparameters"]["lr"] for told in search.trials}), 8)

    def test_tpe_learns_from_the_trials_before(self):
        learnt = sum(Search(tpe, LINE, seed=seed).run(40, distance) for seed in range(3))
        drawn = sum(Search(random_study, LINE, seed=seed).run(40, distance) for seed in range(3))
        self.assertLess(learnt, drawn / 2)

    def test_cma_es_keeps_its_distribution_between_questions(self):
        try:
            import cmaes  # noqa: F401
        except ImportError:
            self.skipTest("cmaes is not installed")

        def cma(seed):
            return optuna.create_study(sampler=optuna.samplers.CmaEsSampler(seed=seed, n_startup_trials=1))

        search = Search(cma, LINE)
        search.run(90, distance)
        late = sorted(told["metric"] for told in search.trials[-12:])
        self.assertLess(late[6], 1.0)
        self.assertTrue(any("note" in told for told in search.trials))

    def test_nsga_ii_has_several_objectives(self):
        def nsga(seed):
            sampler = optuna.samplers.NSGAIISampler(seed=seed, population_size=6)
            return optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)

        search = Search(nsga, LINE, metrics=["loss", "speed"])
        for _ in range(60):
            chosen = search.begin()
            told = search.trials[-1]
            told["state"] = "completed"
            told["last_validation"] = {"loss": (chosen["x"] - 3) ** 2, "speed": -((chosen["y"] + 2) ** 2), "size": 1}
        notes = [told["note"]["system_attrs"] for told in search.trials]
        self.assertEqual(notes, [{"nsga2:generation": i // 6} for i in range(60)])
        values = [told["hyperparameters"]["x"] for told in search.trials]
        inherited = sum(value in values[:i] for i, value in enumerate(values))
        self.assertGreater(inherited, 20)  # children have values of their parents
        self.assertEqual(search.ask("report", 0), {})

    def test_ends_of_trials_become_states_of_optuna(self):
        studies = []

        def make(seed):
            studies.append(random_study(seed))
            return studies[-1]

        search = Search(make, LINE)
        for state, values in [
            ("completed", [0.5, 0.25]),
            ("stopped", [0.5]),
            ("stopped", []),
            ("failed", [0.5]),
            ("canceled", []),
            ("invalid", []),
            ("running", [0.75]),
            ("completed", ["NaN"]),
        ]:
            search.begin()
            search.report(len(search.trials) - 1, values, state)
        search.ask()
        names = [trial.state.name for trial in studies[-1].trials]
        self.assertEqual(
            names, ["COMPLETE", "PRUNED", "FAIL", "FAIL", "FAIL", "FAIL", "RUNNING", "FAIL", "RUNNING"]
        )
        self.assertEqual(studies[-1].trials[0].value, 0.25)
        self.assertEqual(studies[-1].trials[1].intermediate_values, {1: 0.5})

    def test_a_pruner_ends_a_trial_that_is_worse_than_the_others(self):
        def median(seed):
            pruner = optuna.pruners.MedianPruner(n_startup_trials=2)
            return optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed), pruner=pruner)

        search = Search(median, LINE)
        for values, state in [([0.5, 0.3], "completed"), ([0.6, 0.2], "completed"), ([0.9, 0.9], "running")]:
            search.begin()
            search.report(len(search.trials) - 1, values, state)
        self.assertEqual(search.ask("report", 2), {"prune": [2]})
        search.report(2, [0.1])
        self.assertEqual(search.ask("report", 2), {"prune": []})

    def test_a_search_ends_when_the_program_says_so(self):
        search = Search(random_study, LINE)
        search.run(3, distance)
        answer = search.ask(should_stop=lambda study: f"{len(study.trials)} trials are enough")
        self.assertEqual(answer, {"stop": "3 trials are enough"})
        self.assertIn("hyperparameters", search.ask(should_stop=lambda study: None))

    def test_what_can_not_work_is_an_error(self):
        for make, metrics, text in [
            (lambda seed: optuna.create_study(direction="maximize"), None, "the study must minimize"),
            (lambda seed: optuna.create_study(directions=["minimize"] * 2), None, "2 objectives"),
            (tpe, ["loss", "size"], "1 objectives"),
            (lambda seed: optuna.create_study(pruner=optuna.pruners.HyperbandPruner()), None, "HyperbandPruner"),
            (patient_hyperband, None, "HyperbandPruner"),
            (lambda seed: optuna.create_study(sampler=optuna.samplers.QMCSampler(seed=seed)), None, "QMCSampler"),
            (partly_quasi_random, None, "QMCSampler"),
            (constrained, None, "TPESampler calls constraints_func"),
        ]:
            with self.assertRaisesRegex(ValueError, text):
                Search(make, LINE, metrics=metrics).ask()

    def test_a_dot_in_a_name_is_no_group(self):
        range_of = {"type": "double", "minval": 0, "maxval": 1}
        search = Search(random_study, {"a.b": range_of, "a": {"b": {**range_of, "minval": 0.5}}})
        chosen = search.begin()
        self.assertEqual(set(chosen), {"a.b", "a"})
        self.assertNotEqual(chosen["a.b"], chosen["a"]["b"])
        search.report(0, [0.5], "completed")
        self.assertIn("hyperparameters", search.ask())

    def test_run_answers_on_standard_output_what_the_program_prints_goes_elsewhere(self):
        program = (
            "import optuna, determined.optuna\n"
            "def make_study(seed):\n"
            "    print('a line of the program')\n"
            "    return optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))\n"
            "determined.optuna.run(make_study)\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sampler.py")
            with open(path, "w") as file:
                file.write(program)
            done = subprocess.run(
                [sys.executable, path],
                input="\n".join(Search(random_study, LINE).request("begin", 0)) + "\n",
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                universal_newlines=True,
                timeout=120,
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["sampler"], 1)
        self.assertEqual(set(answer["hyperparameters"]), {"x", "y"})
        self.assertIn("a line of the program", done.stderr)

    def test_a_request_of_another_protocol_is_refused(self):
        lines = Search(random_study, LINE).request("begin", 0)
        with self.assertRaisesRegex(ValueError, "version 2"):
            _sampler.parse_request([lines[0].replace('"sampler": 1', '"sampler": 2'), lines[1]])
        with self.assertRaisesRegex(ValueError, "at least two lines"):
            _sampler.parse_request([lines[0]])


if __name__ == "__main__":
    unittest.main()
