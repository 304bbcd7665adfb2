const PADDING = 'x'.repeat(800)

/** An event whose body is about 1 KB, and tells its number. */
export const eventOf = (number) => ({
  type: 'track',
  userId: `u${number % 1_000}`,
  event: 'Order Completed',
  messageId: `m${number}`,
  properties: { number, padding: PADDING },
})

/** The number in a body. Throws if it is not whole. */
export const numberIn = (body) => {
  const { messageId, properties } = JSON.parse(body)
  if (properties.padding !== PADDING || messageId !== `m${properties.number}`)
    throw new Error('it was changed')
  return properties.number
}
