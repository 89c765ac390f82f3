"""What is attention: which products are of a query and a key, which side is which, and which softmax is none."""

from __future__ import annotations

from attnlint.domain.record import SiteRecord
from attnlint.domain.values import Leaf, Product, Tensor
from attnlint.evaluate.tensors import products_of
from attnlint.evidence import signs
from attnlint.sites.operands import kind_of
from attnlint.sites.sites import AttentionSite

FEW = 4  # coordinates, segments, or the three of query, key and value: fewer entries than any head has features
_WEIGHTS = ("parameter", "buffer", "embedding")


def products_in(record: SiteRecord) -> list[tuple[Tensor, Product]]:
    """The products of a query and a key that reach a softmax, each with the term of the logits that carries it."""
    if record.logits is None or "log" in record.notes:
        return []
    return [(carrier, product) for carrier, product in of_features(products_of(record.logits)) if _is_attention(record, product)]


def of_features(products: list[tuple[Tensor, Product]]) -> list[tuple[Tensor, Product]]:
    """Without products over two segments or three coordinates, which are added to a product over features."""
    if all(product.size.is_number for _, product in products):
        return products
    return [(carrier, product) for carrier, product in products if not (product.size.is_number and product.size.coefficient <= FEW)]


def _is_attention(record: SiteRecord, product: Product) -> bool:
    kinds = {kind_of(product.left), kind_of(product.right)}
    if not kinds.isdisjoint(("product", "constant", *_WEIGHTS)):
        return False
    if record.kernel is not None:
        return True
    if product.size.is_one or _of_keys_and_values(record, product):
        return False
    return record.value is not None or names_say_attention(record, product)


def _of_keys_and_values(record: SiteRecord, product: Product) -> bool:
    """Efficient attention: keys and values are multiplied first, and the query, a softmax of its own, picks from what that gives."""
    left, right = product.left.name or "", product.right.name or ""
    summed_up = (signs.KEY.search(left) and signs.VALUE.search(right)) or (signs.VALUE.search(left) and signs.KEY.search(right))
    return bool(summed_up) and (record.value is None or signs.QUERY.search(record.value.name or "") is not None)


def names_say_attention(record: SiteRecord, product: Product) -> bool:
    """Whether operands are called query and key, or the code around is called attention."""
    left, right = product.left.name or "", product.right.name or ""
    if (signs.QUERY.search(left) and signs.KEY.search(right)) or (signs.KEY.search(left) and signs.QUERY.search(right)):
        return True
    return bool(signs.ATTENTION.search(record.qualname))


def sides(record: SiteRecord, product: Product) -> tuple[Tensor, Tensor]:
    """Query and key of a product: by the softmax axis, else by names, else left and right."""
    if record.axis is not None:
        key = record.axis.key
        in_left = any(axis.key == key for axis in product.left.shape.axes)
        in_right = any(axis.key == key for axis in product.right.shape.axes)
        if in_left != in_right:
            return (product.right, product.left) if in_left else (product.left, product.right)
    if signs.KEY.search(product.left.name or "") and signs.QUERY.search(product.right.name or ""):
        return product.right, product.left
    return product.left, product.right


def untraced(record: SiteRecord) -> AttentionSite | None:
    """A softmax whose logits could not be followed, where its weights meet values all the same."""
    logits = record.logits
    if logits is None or "log" in record.notes or record.value is None or products_of(logits):
        return None
    leaf = logits.content if isinstance(logits.content, Leaf) else None
    reason = leaf.reason if leaf is not None else None
    if leaf is not None and leaf.kind in ("parameter", "buffer", "constant", "embedding", "recurrent"):
        return None
    bare = leaf is not None and record.hand_written and not record.stable and leaf.kind == "projection"
    if leaf is not None and leaf.kind in ("projection", "array") and leaf.layer is not None and not bare:
        return None
    if not signs.ATTENTION.search(record.qualname) and reason is None and not bare:
        return None
    return AttentionSite(
        record, None, None, None, None, None, None, None, (), reason=reason or "the logits are no product that is followed"
    )
