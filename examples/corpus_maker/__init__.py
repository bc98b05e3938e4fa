"""Parts of the sample corpus maker: words -> works -> tokens -> PDF and JATS."""
