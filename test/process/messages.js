/** The messages of the pipeline tests: each is told by its name, and says the same whenever it is made. */
export const nameOf = (number) => `e${number}`

/** The call of a name. Its properties are as long as its number says, and not all of them are ASCII. */
export const callOf = (name) => {
  const number = Number(name.slice(1))
  return {
    ...{ type: 'track', userId: `u${number % 50}`, event: name, messageId: `m-${name}` },
    timestamp: new Date(Date.UTC(2026, 0, 1) + number).toISOString(),
    properties: { total: number / 7, note: 'é"\u2028 '.repeat(number % 40) },
  }
}

/** Milliseconds for the attempts at a message whose events are shared by workers. */
export const WINDOW = 30_000

/** The key of a name where the order is kept. All names of a key are of one worker of four. */
export const keyOf = (name) => `k${Number(name.slice(1)) % 28}`
