/** Express with apicache and a password check, the usual stack of such an API, if both are installed. */
import { bodyOf } from '../bodies.ts'

type Middleware = (
  request: { url: string; headers: Record<string, string | undefined> },
  response: Answering,
  next: () => void,
) => void
interface Answering {
  status(code: number): Answering
  type(type: string): Answering
  send(body: Buffer | string): void
}
interface App {
  use(middleware: Middleware): void
  get(path: string, handler: Middleware): void
  listen(port: number, host: string): void
}

/** Resolved at run time, because they are not dependencies of the project. */
const load = async <T>(name: string): Promise<T> => ((await import(name)) as { default: T }).default
const [port, authorization] = process.argv.slice(2)
const express = await load<() => App>('express')
const apicache = await load<{ middleware(time: string): Middleware }>('apicache')
const app = express()
app.use((request, response, next) => {
  if (request.headers.authorization === authorization) next()
  else response.status(401).send('401 Unauthorized')
})
app.use(apicache.middleware('1 hour'))
app.get('/agents', (request, response) =>
  response.type('json').send(bodyOf(Number(/limit=(\d+)/.exec(request.url)?.[1] ?? 2)).toString()),
)
app.listen(Number(port), '127.0.0.1')
