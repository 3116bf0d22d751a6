// Answers Paceline's workloads. HHVM runs this file for each request: see server.ini.

function text(string $body, int $status = 200, string $type = 'text/plain'): void {
  \http_response_code($status);
  \header('Content-Type: '.$type);
  \header('Content-Length: '.\strlen($body));
  \header('Server: HHVM');
  \header('Date: '.\gmdate('D, d M Y H:i:s').' GMT');
  echo $body;
}

<<__EntryPoint>>
function main(): void {
  $server = \HH\global_get('_SERVER') as KeyedContainer<_, _>;
  $path = \explode('?', $server['REQUEST_URI'] as string, 2)[0];
  switch ($path) {
    case '/hello':
      text("Hello World\n");
      break;
    case '/byte':
      text('x');
      break;
    case '/page':
      text(\file_get_contents('/srv/page.txt') as string);
      break;
    case '/json':
      text(\json_encode(dict['message' => 'Hello, World!']), 200, 'application/json');
      break;
    case '/plaintext':
      text('Hello, World!');
      break;
    case '/home':
      text('OK, no problema!');
      break;
    default:
      text("Not Found\n", 404);
  }
}
