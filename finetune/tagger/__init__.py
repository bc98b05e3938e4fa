"""The tagger: one forward pass labels every word of a reference; nothing is generated.

    reno finetune tagger-smollm2 --data DATA --out DIR
    reno evaluate --system tagger-smollm2 --adapter DIR --data DATA --out OUT

Its annotation is the reference with tags placed in it: always well-formed, never invented.
"""
