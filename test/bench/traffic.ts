/** The users and URLs of the kinds `real`: traffic as balancers and libraries of clients send it. */
import type { Traffic } from './load.ts'

export interface BenchUser {
  readonly name: string
  readonly password: string
}

const PASSWORD = 'bench-password'

export function benchUsers(count: number): readonly BenchUser[] {
  return Array.from({ length: count }, (_, at) => ({ name: `bench-${at}`, password: PASSWORD }))
}

/** The origin sends the same body for each of these paths, so every counted response has the same length. */
export function trafficOf(users: number, urls: number): Traffic {
  return {
    users: benchUsers(users).map(basicOf),
    urls: Array.from({ length: urls }, (_, at) => `/agents/${String(at + 1).padStart(3, '0')}`),
  }
}

export function basicOf({ name, password }: BenchUser): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
}
