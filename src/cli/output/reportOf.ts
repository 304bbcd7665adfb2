import type { Happening } from '../../observe/Happening.ts'
import { causesOf } from './causesOf.ts'
import { endingOf } from './endingOf.ts'
import type { Report, Subject } from './Report.ts'

/** What is known about an item that a happening speaks of; undefined for one that is not ours. */
export type SubjectOf = (item: unknown) => Subject | undefined

/** What of a happening is reported: attempts, waits and ends. A refusal is reported where the line is known. */
export const reportOf = (happening: Happening, subjectOf: SubjectOf): Report | undefined => {
  switch (happening._tag) {
    case 'Attempted': {
      const { item, sink: url, number: n, duration, result } = happening
      const subject = subjectOf(item)
      if (subject === undefined) return undefined
      const ok = result._tag === 'Right'
      const [cause] = result._tag === 'Left' ? causesOf(result.left, url) : []
      const status = ok ? result.right.status : undefined
      return {
        t: 'attempt',
        ...subject,
        url,
        n,
        ok,
        ms: Math.round(duration),
        ...cause,
        ...(status === undefined ? {} : { status }),
      }
    }
    case 'PassedOver': {
      const { item, sink: url, number: n } = happening
      const subject = subjectOf(item)
      return subject && { t: 'attempt', ...subject, url, n, ok: false, ms: 0, reason: 'laneFull' }
    }
    case 'Waiting': {
      const { item, attempts: n, delay: ms, because, failure } = happening
      const subject = subjectOf(item)
      return subject && { t: 'waiting', ...subject, n, ms, because, causes: causesOf(failure) }
    }
    case 'Ended': {
      const subject = subjectOf(happening.outcome.item)
      if (subject === undefined) return undefined
      const { t, ...how } = endingOf(happening.outcome)
      return { t, ...subject, ...how }
    }
    case 'RefusedAtDoor':
    case 'KeysDropped':
    case 'Accepted':
    case 'Defect':
      return undefined
  }
}
