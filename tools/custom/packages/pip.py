"""Runs pip. On a machine whose interpreter has none, it is taken out of the interpreter's own ensurepip."""
import sys

args = sys.argv[1:]
try:
    import pip  # noqa: F401
except ImportError:
    import os
    try:
        import ensurepip  # noqa: F401
        import venv
        home = os.path.join(os.environ["TMPDIR"], "venv")
        venv.create(home, with_pip=True)
    except Exception as error:
        print(f"no pip: {error}", file=sys.stderr)
        sys.exit(97)
    program = os.path.join(home, "bin", "python3")
    os.execv(program, [program, "-I", "-m", "pip", *args])
import runpy

sys.argv = ["pip", *args]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
