{-# LANGUAGE OverloadedStrings #-}

-- | The routes of the database workloads.
module DatabaseRoutes (databaseRoutes) where

import Control.Monad.IO.Class (liftIO)
import Data.Text.Lazy (toStrict)
import Database
import Text.Blaze.Html.Renderer.Utf8 (renderHtml)
import Text.Blaze.Html5 (Html, docTypeHtml, toHtml)
import qualified Text.Blaze.Html5 as Html
import Web.Scotty

databaseRoutes :: Database -> ScottyM ()
databaseRoutes database = do
  get "/db" $ liftIO (head <$> randomWorlds database 1) >>= json
  get "/queries" $ queries >>= liftIO . randomWorlds database >>= json
  get "/updates" $ queries >>= liftIO . updateWorlds database >>= json
  get "/fortunes" $ do
    found <- liftIO (fortunes database)
    setHeader "Content-Type" "text/html; charset=utf-8"
    raw (renderHtml (fortunesPage found))

queries :: ActionM Int
queries = queriesAsked . fmap toStrict . lookup "queries" <$> params

fortunesPage :: [Fortune] -> Html
fortunesPage found = docTypeHtml $ do
  Html.head (Html.title "Fortunes")
  Html.body . Html.table $ do
    Html.tr (Html.th "id" <> Html.th "message")
    mapM_ row found
  where
    row fortune = Html.tr (Html.td (toHtml (fortuneId fortune)) <> Html.td (toHtml (message fortune)))
