{-# LANGUAGE OverloadedStrings #-}

-- | Answers Paceline's workloads with Scotty.
module Main (main) where

import Control.Monad (forM_, void)
import Data.Aeson (object, (.=))
import qualified Data.ByteString.Lazy as Lazy
import Data.ByteString.Builder (integerDec, toLazyByteString)
import Data.String (fromString)
import qualified Data.Text as Text
import qualified Data.Text.Read as Read
import Database (openDatabase)
import DatabaseRoutes (databaseRoutes)
import Network.HTTP.Types (badRequest400, notFound404)
import Network.Wai.Handler.Warp
import System.Environment (getEnv)
import System.Posix.Signals (Handler (CatchOnce), installHandler, sigTERM)
import Web.Scotty

largestX, million :: Integer
largestX = 10000
million = 1000000

-- | How long requests may take to end after SIGTERM.
stopLimitSeconds :: Int
stopLimitSeconds = 2

main :: IO ()
main = do
  page <- Lazy.readFile . (<> "/page.txt") =<< getEnv "PACELINE_WORKLOADS"
  host <- fromString <$> getEnv "PACELINE_HOST"
  port <- read <$> getEnv "PACELINE_PORT"
  database <- openDatabase
  let stopOnSignal close = void $ installHandler sigTERM (CatchOnce close) Nothing
      warp =
        setHost host
          . setPort port
          . setInstallShutdownHandler stopOnSignal
          . setGracefulShutdownTimeout (Just stopLimitSeconds)
          $ defaultSettings
  Lazy.length page `seq` scottyOpts (Options {verbose = 0, settings = warp}) $ do
    routes page
    forM_ database databaseRoutes
    notFound $ status notFound404 >> text "Not Found\n"

routes :: Lazy.ByteString -> ScottyM ()
routes page = do
  get "/hello" $ text "Hello World\n"
  get "/byte" $ text "x"
  get "/page" $ plain page
  get "/json" $ json (object ["message" .= Text.pack "Hello, World!"])
  get "/plaintext" $ text "Hello, World!"
  get "/home" $ text "OK, no problema!"
  get "/tetra/:x" $ param "x" >>= maybe refuse power . wholeNumber
  get "/tetra/" refuse
  get "/tetra-million" $ power million
  where
    refuse = status badRequest400 >> text "x must be a whole number from 0 to 10000\n"

-- | A number that this server accepts: only decimal digits.
wholeNumber :: Text.Text -> Maybe Integer
wholeNumber digits = case Read.decimal digits of
  Right (x, rest) | Text.null rest, x <= largestX -> Just x
  _ -> Nothing

power :: Integer -> ActionM ()
power x = plain (toLazyByteString (integerDec (x ^ x)))

-- | Bytes that are already encoded; 'text' would decode and encode them again.
plain :: Lazy.ByteString -> ActionM ()
plain bytes = setHeader "Content-Type" "text/plain; charset=utf-8" >> raw bytes
