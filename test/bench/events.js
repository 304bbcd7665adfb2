/** Events to measure with: distinct objects as `JSON.parse` makes them, always the same. */

/** A small generator of numbers, so that every run sees the same events. */
const numbersFrom = (seed) => {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state % below
  }
}

const WORDS = 'order basket checkout voucher parcel garden window river paper lemon violet copper'.split(' ')

const propertiesOf = (number, lines) => ({
  orderId: `order-${number(1e9)}`,
  total: number(1e6) / 100,
  currency: 'EUR',
  coupon: number(2) === 0,
  items: Array.from({ length: lines }, (_, at) => ({
    sku: `sku-${number(1e6)}`,
    name: `${WORDS[number(12)]} ${WORDS[number(12)]} ${at % 4 === 0 ? 'grün' : 'red'}`,
    price: number(1e5) / 100,
    quantity: 1 + number(9),
  })),
})

const callOf = (number, at, lines) => ({
  type: 'track',
  messageId: `message-${String(at).padStart(8, '0')}-${number(1e9)}`,
  timestamp: new Date(1_750_000_000_000 + number(1e9)).toISOString(),
  userId: `user-${number(1e6)}`,
  event: 'Order Completed',
  ...(lines === 0
    ? { properties: { plan: WORDS[number(12)], total: number(1e6) / 100 } }
    : {
        anonymousId: `anonymous-${number(1e9)}`,
        properties: propertiesOf(number, lines),
        context: {
          ip: `203.0.113.${number(256)}`,
          locale: 'de-DE',
          page: {
            path: '/checkout/done',
            title: 'Danke für Ihre Bestellung',
            url: 'https://shop.example/checkout/done',
          },
          userAgent:
            'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0',
        },
      }),
})

/** How many lines an order has, so that the call's JSON has about 205, 1,000, 4,200 bytes. */
const LINES = { small: 0, middle: 6, big: 49 }

/**
 * @param {'small' | 'middle' | 'big'} size
 * @param {number} count
 */
export const calls = (size, count = 512) => {
  const number = numbersFrom(7)
  return Array.from({ length: count }, (_, at) => JSON.parse(JSON.stringify(callOf(number, at, LINES[size]))))
}
