"""`python -m shim` is `heddle`."""

from shim.cli import main

if __name__ == "__main__":
    main()
