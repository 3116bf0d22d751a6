{-# LANGUAGE OverloadedStrings #-}

-- | Rows of the database workloads, from PostgreSQL by postgresql-simple.
module Database (Database, Fortune (..), World, fortunes, openDatabase, queriesAsked, randomWorlds, updateWorlds) where

import Control.Monad (replicateM, void)
import Data.Aeson (ToJSON (..), object, (.=))
import Data.List (sortOn)
import Data.Pool (Pool, createPool, withResource)
import qualified Data.Text as Text
import qualified Data.Text.Read as Read
import Database.PostgreSQL.Simple hiding (FromRow)
import Database.PostgreSQL.Simple.FromRow (FromRow (..), field)
import System.Environment (getEnv, lookupEnv)
import System.Random (randomRIO)

newtype Database = Database (Pool Connection)

data World = World {worldId :: Int, randomNumber :: Int}

data Fortune = Fortune {fortuneId :: Int, message :: Text.Text}

instance FromRow World where fromRow = World <$> field <*> field

instance FromRow Fortune where fromRow = Fortune <$> field <*> field

instance ToJSON World where
  toJSON world = object ["id" .= worldId world, "randomNumber" .= randomNumber world]

worldRows, mostQueries :: Int
worldRows = 10000
mostQueries = 500

-- | How long a connection may be idle before it is closed.
idleSeconds :: Num a => a
idleSeconds = 3600

-- | 'Nothing' if the environment names no database.
openDatabase :: IO (Maybe Database)
openDatabase = lookupEnv "DATABASE" >>= traverse open
  where
    open "postgresql" = do
      connections <- read <$> getEnv "DATABASE_POOL"
      address <- databaseAddress
      -- One stripe: with more, a request would wait for a connection of its stripe while others are free.
      Database <$> createPool (connect address) close 1 idleSeconds connections
    open kind = fail ("DATABASE is " <> kind <> ": set it to postgresql")

databaseAddress :: IO ConnectInfo
databaseAddress =
  ConnectInfo
    <$> getEnv "DATABASE_HOST"
    <*> (read <$> getEnv "DATABASE_PORT")
    <*> getEnv "DATABASE_USER"
    <*> getEnv "DATABASE_PASSWORD"
    <*> getEnv "DATABASE_NAME"

-- | The parameter @queries@: 1 if it is missing or not an integer.
queriesAsked :: Maybe Text.Text -> Int
queriesAsked text = case Read.decimal <$> text of
  Just (Right (queries, "")) -> fromInteger (max 1 (min (toInteger mostQueries) queries))
  _ -> 1

-- | One SELECT for each row, all on one connection.
randomWorlds :: Database -> Int -> IO [World]
randomWorlds (Database pool) count = withResource pool $ \connection ->
  replicateM count $ do
    number <- newRandomNumber
    [world] <- query connection "SELECT id, randomNumber FROM world WHERE id = ?" (Only number)
    pure world

updateWorlds :: Database -> Int -> IO [World]
updateWorlds database@(Database pool) count = do
  found <- randomWorlds database count
  changed <- mapM (\world -> (\number -> world {randomNumber = number}) <$> newRandomNumber) found
  -- Transactions that lock rows in the same order cannot deadlock.
  let worlds = sortOn worldId changed
  withResource pool $ \connection -> withTransaction connection (mapM_ (store connection) worlds)
  pure worlds

store :: Connection -> World -> IO ()
store connection world =
  void (execute connection "UPDATE world SET randomNumber = ? WHERE id = ?" (randomNumber world, worldId world))

-- | The rows and the one that is added for each request, sorted by message.
fortunes :: Database -> IO [Fortune]
fortunes (Database pool) = do
  found <- withResource pool (`query_` "SELECT id, message FROM fortune")
  pure (sortOn message (Fortune 0 "Additional fortune added at request time." : found))

newRandomNumber :: IO Int
newRandomNumber = randomRIO (1, worldRows)
