# case: missing_keys_projected expect: missing-scale line: 12 alt: 11
from tensorflow import keras
from tensorflow.keras import layers


def attention_over(tokens, width, key_width):
    values = keras.Input(shape=(tokens, width))
    asked = keras.Input(shape=(tokens, width))
    query = layers.Dense(key_width)(asked)
    keys = layers.Dense(key_width)(values)
    attention = layers.Activation("softmax")(
        layers.Dot(axes=-1)([query, keys]))
    return keras.Model([values, asked], layers.Dot((2, 1))([attention, values]))
