-- Prints the digits of x to the power of x: exact X.
import System.Environment (getArgs)

main :: IO ()
main = do
    [x] <- getArgs
    let n = read x :: Integer
    print (n ^ n)
