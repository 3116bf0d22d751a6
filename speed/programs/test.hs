-- The program of source 004. It is lazy: y is never needed, so the power is never computed.
f :: Integer -> Integer
f x = x^x
main = do
    let y = (f 1000000)
    return ()
