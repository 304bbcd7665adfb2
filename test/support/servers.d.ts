export declare const programs: Readonly<Record<'initdb' | 'pgbouncer' | 'nats', string>>
export declare const freePort: () => Promise<number>
type Server = Readonly<{ port: number; url: string; stop: () => Promise<void> }>

/** `restart` is a crash: open requests get no answer. It resolves when the server takes connections again. */
export type PostgresServer = Server & { readonly restart: () => Promise<void> }
export declare const startPostgres: (options?: {
  readonly syncs?: boolean
  readonly settings?: ReadonlyArray<string>
}) => Promise<PostgresServer>
export declare const sharedPostgres: () => Promise<PostgresServer>
export declare const newSchema: () => string
export declare const startPgbouncer: (server: Pick<Server, 'port'>, connections?: number) => Promise<Server>
export declare const startNats: () => Promise<Server>
