/**
 * An outbox in PostgreSQL, which several processes share.
 *
 * @module
 */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { backgroundClock, inTime, systemClock, type Cancel } from '../../core/clock.ts'
import { messageOf } from '../../core/failure.ts'
import { isDead } from '../../core/outcome.ts'
import { queue as queueOf } from '../../core/queue.ts'
import { fullIn, ConfigError, type Full } from '../../core/refusal.ts'
import { aboutDead, aboutRetry } from '../about.ts'
import { batched } from '../batched.ts'
import type { OutboxFactoryOptions } from '../factory.ts'
import { newEntry, type Ack, type Entry, type Nack, type Outbox } from '../outbox.ts'
import { bellOf } from './bell.ts'
import { deadLettersOf } from './deadLetters.ts'
import { decodeEntry, offerOf, type Offer } from './records.ts'
import { checkPostgresOptions, type PostgresOptions } from './options.ts'
import { openQueue } from './schema.ts'
import { runIn, statementsOf, type LeasedRow, type TransactionClient } from './statements.ts'
import { workerOf } from './worker.ts'

/** The most entries that are leased ahead of the relay. */
const MAX_AHEAD = 1_000
/** Results that do not wait for others. */
const ENOUGH_RESULTS = 25
/** Between two looks while items wait that are not leased here, or while LISTEN is cut. */
const LOOK_EVERY = 1_000
/** Between two looks of an idle worker, for a bell that was not heard; and between two counts. */
const IDLE_LOOK_EVERY = 5_000
