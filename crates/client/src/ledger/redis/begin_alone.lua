return begin()
