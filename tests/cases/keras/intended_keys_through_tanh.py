# case: intended_keys_through_tanh expect: clean
# verdict: intended
from tensorflow import keras
from tensorflow.keras import layers


def personal_pooling(tokens, width, query_width):
    """A query of the user chooses among values by a tanh of their projection: additive attention with a given query."""
    values = keras.Input(shape=(tokens, width))
    query = keras.Input(shape=(query_width,))
    keys = layers.Dense(query_width, activation="tanh")(values)
    attention = layers.Activation("softmax")(layers.Dot(axes=-1)([query, keys]))
    return keras.Model([values, query], layers.Dot((1, 1))([values, attention]))
