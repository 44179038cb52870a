"""The documentation as a site: what MkDocs needs beyond the pages themselves.

`mkdocs build --strict -f docs/website/mkdocs.yml -d FOLDER` makes it.

- `hooks`: what MkDocs calls, in order
- `navigation`: the order of pages, as docs/index.md has it
- `pages`: text of the repository as pages of the site, with its links
- `reference`: commands, functions and errors, from the code
- `gallery`: the examples and their pictures
- `docstrings`: examples in docstrings, as blocks
- `mlir`: colours of MLIR
"""
