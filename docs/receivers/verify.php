<?php
// A receiver of webhooks that verifies the raw bytes. Start it with: SECRET=... php -S 127.0.0.1:8080 verify.php
$secret = getenv('SECRET');
if ($secret === false || $secret === '') {
    http_response_code(503); // the event comes again when the secret is set
    exit;
}
$body = file_get_contents('php://input');
$expected = hash_hmac('sha1', $body, $secret);
if (!hash_equals($expected, $_SERVER['HTTP_X_SIGNATURE'] ?? '')) { // constant time
    http_response_code(401); // final; after a 5xx the event would come again for four hours
    exit;
}
// Here json_decode($body, true) is an event. Store it, and work on it after the answer.
http_response_code(204);
