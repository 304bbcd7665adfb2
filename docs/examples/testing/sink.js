// A sink of our own: one POST for each item; the status of the answer decides. In production: ourSink({ fetch }).
import { sink } from 'headrace'

export const ITEMS = 'https://api.example/items'

export const ourSink = ({ fetch, timeout = 5_000 }) =>
  sink('ours', (item, { signal }) => fetch(ITEMS, { method: 'POST', body: JSON.stringify(item), signal }), {
    timeout,
  })
