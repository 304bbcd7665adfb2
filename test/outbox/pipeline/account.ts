/** What was acknowledged, held against what came to a receiver: over all lives of a process that is killed again and again. */

/** A request as it came. */
export interface Arrival {
  /** Which receiver. */
  readonly place: string
  /** What the message is called by whoever sent it. */
  readonly name: string
  /** What it is called by the process under test. */
  readonly id: string
  readonly body: string
}

interface Known {
  readonly id: string
  readonly body: string
  /** In which lives it was taken. */
  readonly takenIn: number[]
  /** In which lives its end was told. */
  readonly endedIn: number[]
}

/** What is wrong, each as a count; all of it must be 0. */
export interface Harm {
  /** Acknowledged, and never taken by a receiver. */
  readonly missing: number
  /** Came with other bytes than before. */
  readonly altered: number
  /** Came under a second id. */
  readonly renamed: number
  /** Came although its end had been told before the kill, as often as it was offered. */
  readonly resurrected: number
  /** Ended as anything but delivered. */
  readonly dead: number
  /** Nobody sent it, or it ended without having come. */
  readonly strange: number
}

/** The account of a pipeline. */
export interface Account {
  /** A new process begins. */
  readonly nextLife: () => void
  /** Is handed over. Whoever repeats it without an answer may have brought it into keeping once more each time. */
  readonly offered: (name: string) => void
  readonly acknowledged: (name: string) => void
  readonly isAcknowledged: (name: string) => boolean
  readonly arrived: (arrival: Arrival) => void
  /** It is answered with 200. */
  readonly taken: (arrival: Arrival) => void
  /** The process has told the end of this id; `place` is undefined if there is but one. */
  readonly ended: (id: string, how: string, place?: string) => void
  /** How many different messages were taken, by all places together. */
  readonly delivered: () => number
  readonly harm: () => Harm
  readonly figures: () => Figures
}

export interface Figures {
  readonly acknowledged: number
  readonly delivered: number
  /** Deliveries of what had been delivered before. */
  readonly extra: number
  /** Taken, and its end not told, when the process was killed; all kills together. */
  readonly doubtful: number
  /** Offered again because there was no answer. */
  readonly repeated: number
}

const count = (lives: ReadonlyArray<number>, life: number): number =>
  lives.filter((each) => each === life).length

/** An account of messages with these names, each of which goes to all these places. */
export const accountOf = (names: ReadonlyArray<string>, places: ReadonlyArray<string>): Account => {
  const sent = new Set(names)
  const offers = new Map<string, number>()
  const acknowledged = new Set<string>()
  const byPlace = new Map(places.map((place) => [place, new Map<string, Known>()]))
  const byId = new Map<string, Known>()
  const counts = { altered: 0, renamed: 0, resurrected: 0, dead: 0, strange: 0 }
  let life = 0
  let delivered = 0
  let extra = 0
  let doubtful = 0
  let repeated = 0

  const find = ({ place, name }: Arrival): Known | undefined => byPlace.get(place)?.get(name)

  return {
    nextLife: () => {
      for (const found of byPlace.values())
        for (const { takenIn, endedIn } of found.values())
          doubtful += Math.max(0, count(takenIn, life) - count(endedIn, life))
      life++
    },
    offered: (name) => {
      const before = offers.get(name) ?? 0
      if (before > 0) repeated++
      offers.set(name, before + 1)
    },
    acknowledged: (name) => {
      acknowledged.add(name)
    },
    isAcknowledged: (name) => acknowledged.has(name),
    arrived: (arrival) => {
      const { place, name, id, body } = arrival
      const known = find(arrival)
      if (known === undefined) {
        if (!sent.has(name) || !byPlace.has(place)) counts.strange++
        const found: Known = { id, body, takenIn: [], endedIn: [] }
        byPlace.get(place)?.set(name, found)
        byId.set(`${place} ${id}`, found)
        return
      }
      if (known.id !== id) counts.renamed++
      else if (known.body !== body) counts.altered++
      const ends = known.endedIn.filter((each) => each < life).length
      if (ends >= (offers.get(name) ?? 0)) counts.resurrected++
    },
    taken: (arrival) => {
      const known = find(arrival)
      if (known === undefined) return
      if (known.takenIn.length === 0) delivered++
      else extra++
      known.takenIn.push(life)
    },
    ended: (id, how, place = places[0]) => {
      const known = byId.get(`${String(place)} ${id}`)
      if (known === undefined) counts.strange++
      else known.endedIn.push(life)
      if (how !== 'delivered') counts.dead++
    },
    delivered: () => delivered,
    harm: () => {
      let missing = 0
      for (const found of byPlace.values())
        for (const name of acknowledged) if ((found.get(name)?.takenIn.length ?? 0) === 0) missing++
      return { missing, ...counts }
    },
    figures: () => ({ acknowledged: acknowledged.size, delivered, extra, doubtful, repeated }),
  }
}
