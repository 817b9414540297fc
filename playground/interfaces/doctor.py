def arguments(parser):
    pass


def run(options):
    """x"""
