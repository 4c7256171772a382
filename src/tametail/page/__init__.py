"""The local page: plan, open, release, take away and ledger in a browser on this machine.

It needs the extra ``page`` (Starlette, Jinja and uvicorn) and is an outer layer, as the command
line is: it calls the public interface and nothing below. :mod:`tametail.page.guard` says who may
call it.
"""
