{-# LANGUAGE OverloadedStrings #-}

-- | Answers Paceline's workloads with wai on warp.
module Main (main) where

import Control.Monad (void)
import Data.Aeson (encode, object, (.=))
import qualified Data.ByteString as Strict
import Data.ByteString.Builder (integerDec, toLazyByteString)
import qualified Data.ByteString.Char8 as Char8
import qualified Data.ByteString.Lazy as Lazy
import Data.String (fromString)
import Data.Text (Text)
import qualified Data.Text as Text
import qualified Data.Text.Read as Read
import Network.HTTP.Types
import Network.Wai
import Network.Wai.Handler.Warp
import System.Environment (getEnv)
import System.Posix.Signals (Handler (CatchOnce), installHandler, sigTERM)

largestX, million :: Integer
largestX = 10000
million = 1000000

-- | How long requests may take to end after SIGTERM.
stopLimitSeconds :: Int
stopLimitSeconds = 2

main :: IO ()
main = do
  page <- Lazy.fromStrict <$> (Strict.readFile . (<> "/page.txt") =<< getEnv "PACELINE_WORKLOADS")
  host <- fromString <$> getEnv "PACELINE_HOST"
  port <- read <$> getEnv "PACELINE_PORT"
  let stopOnSignal close = void $ installHandler sigTERM (CatchOnce close) Nothing
  runSettings
    ( setHost host
        . setPort port
        . setInstallShutdownHandler stopOnSignal
        . setGracefulShutdownTimeout (Just stopLimitSeconds)
        $ defaultSettings
    )
    (application page)

application :: Lazy.ByteString -> Application
application page request respond
  | requestMethod request `elem` [methodGet, methodHead] = respond (route page (pathInfo request))
  | otherwise = respond (text methodNotAllowed405 "Method Not Allowed\n")

route :: Lazy.ByteString -> [Text] -> Response
route page path = case path of
  ["hello"] -> text ok200 "Hello World\n"
  ["byte"] -> text ok200 "x"
  ["page"] -> text ok200 page
  ["json"] -> answer ok200 "application/json" (encode (object ["message" .= ("Hello, World!" :: Text)]))
  ["plaintext"] -> text ok200 "Hello, World!"
  ["home"] -> text ok200 "OK, no problema!"
  ["tetra", digits] -> maybe badRequest power (wholeNumber digits)
  ["tetra"] -> badRequest
  ["tetra-million"] -> power million
  _ -> text notFound404 "Not Found\n"
  where
    badRequest = text badRequest400 "x must be a whole number from 0 to 10000\n"

-- | A number that this server accepts: only decimal digits.
wholeNumber :: Text -> Maybe Integer
wholeNumber digits = case Read.decimal digits of
  Right (x, rest) | Text.null rest, x <= largestX -> Just x
  _ -> Nothing

power :: Integer -> Response
power x = text ok200 (toLazyByteString (integerDec (x ^ x)))

text :: Status -> Lazy.ByteString -> Response
text status = answer status "text/plain"

-- | With @Content-Length@; without it warp would send a chunked body.
answer :: Status -> Strict.ByteString -> Lazy.ByteString -> Response
answer status kind body = responseLBS status [(hContentType, kind), (hContentLength, size)] body
  where
    size = Char8.pack (show (Lazy.length body))
