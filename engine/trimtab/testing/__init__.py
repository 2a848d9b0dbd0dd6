"""Tests of packs: given a conversation, what a pack makes of it is compared with what is expected (LANGUAGE §15).

``suite`` finds and runs them; ``reading`` turns files into cases, ``playing`` plays a case on the engine, ``judging``
compares. Nothing here prints.
"""
