/** The baseline of misses: Fastify with `@fastify/http-proxy` in front of the origin. */
import proxy from '@fastify/http-proxy'
import Fastify from 'fastify'

const [port, origin] = process.argv.slice(2)
const app = Fastify()
await app.register(proxy, { upstream: origin })
await app.listen({ port: Number(port), host: '127.0.0.1' })
