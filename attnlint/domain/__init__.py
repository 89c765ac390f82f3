"""The domain: monomials, axes, shapes, views, equations and the abstract values made of them."""
