"""Tests how the package finds libdet, and how a run finds the package."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import unittest
import zipfile

from support import BUILD, Case, environment_of

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../runtime/python")


class Package(Case):
    def python(self, program, **more):
        return subprocess.run(
            [sys.executable, "-c", program],
            env=environment_of(**{**self.variables, **more}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    def test_import_does_not_load_libdet(self):
        done = self.python("import determined.core; assert 'libdet' not in open('/proc/self/maps').read()")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_empty_det_library_is_like_none(self):
        find = "from determined._lib._library import find_library; print(find_library())"
        self.assertEqual(self.python(find, DET_LIBRARY="/no/libdet.so").stdout, "/no/libdet.so\n")
        self.assertEqual(self.python(find, DET_LIBRARY="").stdout, self.python("import os; os.environ.pop('DET_LIBRARY', None); " + find).stdout)

    def test_libdet_is_looked_for_in_the_documented_places_alone(self):
        machine = getattr(sys.implementation, "_multiarch", f"{os.uname().machine}-linux-gnu")
        program = "from determined._lib._library import find_library; print(find_library())"

        def copy(packages):
            shutil.copytree(f"{BUILD}/lib/det-submit/python", packages)
            return packages

        def add(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb"):
                pass

        def found(packages):
            return self.python(program, PYTHONPATH=packages, DET_LIBRARY="", DET_MODULES="").stdout.strip()

        for place in ("lib/det-submit/python/determined/_lib", "lib", "lib64", f"lib/{machine}", "lib/det-host"):
            prefix = f"{self.directory}/{place.replace('/', '-')}"
            packages = copy(f"{prefix}/lib/det-submit/python")
            add(f"{prefix}/lib/other/libdet.so.0")
            self.assertEqual(found(packages), "libdet.so.0")
            add(f"{prefix}/{place}/libdet.so.0")
            self.assertEqual(found(packages), f"{prefix}/{place}/libdet.so.0")
        # Directories beside a package that is in no prefix are those of others.
        packages = copy(f"{self.directory}/shared/copy/python")
        add(f"{self.directory}/shared/build/libdet.so.0")
        add(f"{self.directory}/shared/libdet.so.0")
        self.assertEqual(found(packages), "libdet.so.0")

    def test_modules_of_the_package_are_found(self):
        done = self.python("import determined.core._context; import determined; print(determined.__file__)")
        self.assertEqual(done.stdout, f"{BUILD}/lib/det-submit/python/determined/__init__.py\n", done.stderr)

    def test_an_old_python_is_an_import_error(self):
        done = self.python("import sys; sys.version_info = (3, 6, 8); import determined")
        self.assertRegex(done.stderr, "ImportError: determined needs Python 3.8 or newer, and .*python3.* is 3.6")

    def test_in_a_run_a_signal_prints_the_stack_unless_it_has_another_meaning(self):
        send = "import determined, os, signal; os.kill(os.getpid(), signal.SIGUSR1); print('alive')"
        done = self.python(send, DET_RUN_PATH="/run")
        self.assertEqual((done.returncode, done.stdout), (0, "alive\n"), done.stderr)
        self.assertIn('File "<string>", line 1 in <module>', done.stderr)
        self.assertEqual(self.python(send).returncode, -signal.SIGUSR1)
        notices = self.python(send, DET_RUN_PATH="/run", DET_FORWARD_SIGNALS="TERM,USR1")
        self.assertEqual(notices.returncode, -signal.SIGUSR1)
        own = "import signal; signal.signal(signal.SIGUSR1, lambda *_: print('mine')); " + send
        self.assertEqual(self.python(own, DET_RUN_PATH="/run").stdout, "mine\nalive\n")

    def test_without_standard_error_the_package_is_imported(self):
        done = self.python("import sys; sys.stderr = None; import determined; print('ok')", DET_RUN_PATH="/run")
        self.assertEqual(done.stdout, "ok\n")

    def test_a_package_of_the_users_environment_wins(self):
        os.mkdir(f"{self.directory}/determined")
        with open(f"{self.directory}/determined/__init__.py", "w", encoding="utf-8") as file:
            file.write("name = 'theirs'\n")
        path = os.environ["PYTHONPATH"]
        done = self.python("import determined; print(determined.name)", PYTHONPATH=f"{path}:{self.directory}")
        self.assertEqual(done.stdout, "theirs\n", done.stderr)
        self.assertIn("note: using the package determined in", done.stderr)

    def test_a_libdet_that_does_not_exist_is_an_import_error(self):
        done = self.python("import determined._lib; determined._lib.load()", DET_LIBRARY="/nonexistent.so")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ImportError: determined 0.1.0 can't use /nonexistent.so", done.stderr)

    def test_a_libdet_of_another_version_is_an_import_error(self):
        packages = shutil.copytree(f"{BUILD}/lib/det-submit/python", f"{self.directory}/python")
        with open(f"{packages}/determined/_version.py", "w", encoding="utf-8") as file:
            file.write('__version__ = "9.8.7"\n')
        program = "import determined._lib; determined._lib.load()"
        done = self.python(program, PYTHONPATH=packages, DET_LIBRARY=f"{BUILD}/lib/libdet.so.0")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "ImportError: the package determined is 9.8.7, and .*libdet.so.0 is [0-9]")

    @unittest.skipUnless(
        importlib.util.find_spec("hatchling") and importlib.util.find_spec("build"),
        "SKIPPED: the wheel is not built: there is no hatchling or build",
    )
    def test_a_wheel_can_be_built(self):
        source = shutil.copytree(SOURCE, f"{self.directory}/source")
        # Debian's hatchling lacks `editables`, which only editable installations need.
        options = ["--no-isolation", "--skip-dependency-check", "--wheel", "--outdir", self.directory]
        subprocess.run(
            [sys.executable, "-m", "build", *options, source], check=True, stdout=subprocess.PIPE, timeout=120
        )
        (wheel,) = [name for name in os.listdir(self.directory) if name.endswith(".whl")]
        self.assertEqual(wheel, "determined-0.1.0-py3-none-any.whl")
        with zipfile.ZipFile(f"{self.directory}/{wheel}") as archive:
            names = archive.namelist()
            archive.extractall(f"{self.directory}/site-packages")
        self.assertIn("determined/core/_context.py", names)
        self.assertIn("determined/py.typed", names)
        # In a run Python imports the installed wheel, which uses the libdet of the run.
        done = self.python(
            "import determined._lib; determined._lib.load(); print(determined._lib.find_library())",
            PYTHONPATH=f"{os.environ['PYTHONPATH']}:{self.directory}/site-packages",
            DET_MODULES=f"{BUILD}/lib",
        )
        self.assertEqual(done.stdout, f"{BUILD}/lib/libdet.so.0\n", done.stderr)
        self.assertIn(f"note: using the package determined in {self.directory}/site-packages", done.stderr)

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "SKIPPED: types are not checked: there is no mypy")
    def test_types_are_strict(self):
        done = subprocess.run(
            [sys.executable, "-m", "mypy", f"--cache-dir={BUILD}/mypy", "determined", "stand_in/wandb", "path/det_submit_mlflow.py"],
            cwd=SOURCE,
            stdout=subprocess.PIPE,
            text=True,
            timeout=150,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout)
