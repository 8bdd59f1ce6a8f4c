/** Redis servers of a rig, behind one address that leads to one of them. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Redis } from 'ioredis'
import { type RedisServer, startRedis } from '../../support/redis.ts'

export interface RedisGroup {
  /** The address of all: connections stay with the server to which they lead. */
  readonly url: string
  readonly servers: ReadonlyMap<string, RedisServer>
  /** Leads later connections to this server. */
  lead(name: string): void
  /** Sends a command to a server, always over the same connection. */
  command(name: string, args: readonly string[]): Promise<unknown>
  /** Sends a command over a separate connection, without waiting for the reply, which may be an error. */
  start(name: string, args: readonly string[]): void
  close(): Promise<void>
}

/** Starts the servers. The first is the primary, the others are its replicas. */
export async function startRedisGroup(names: readonly string[]): Promise<RedisGroup> {
  const servers = new Map<string, RedisServer>()
  const clients = new Map<string, Redis>()
  const [first = ''] = names
  for (const name of names) {
    const primary = servers.get(first)
    servers.set(
      name,
      await startRedis(primary === undefined ? {} : { args: ['--replicaof', '127.0.0.1', `${primary.port}`] }),
    )
  }
  const serverOf = (name: string) => {
    const server = servers.get(name)
    if (server === undefined) throw new Error(`no Redis ${name}`)
    return server
  }
  for (const name of names) clients.set(name, serverOf(name).client())
  let target = serverOf(first)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const onwards = connect({ host: '127.0.0.1', port: target.port })
    for (const [from, to] of [
      [socket, onwards],
      [onwards, socket],
    ] as const) {
      sockets.add(from)
      from.setNoDelay(true)
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    servers,
    lead: (name) => {
      target = serverOf(name)
    },
    command: async (name, [command = '', ...args]) => clients.get(name)?.call(command, ...args),
    start: (name, [command = '', ...args]) =>
      void serverOf(name)
        .client()
        .call(command, ...args)
        .catch(() => undefined),
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      for (const each of servers.values()) await each.close()
    },
  }
}
