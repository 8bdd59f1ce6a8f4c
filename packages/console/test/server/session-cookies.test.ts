/** Cookies of the console: which of their two forms a request may use. */
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { readCookie, SESSION_COOKIE } from '../../server/sign-in/page-parts.ts'

const request = (protocol: 'http' | 'https', cookie: string) =>
  ({ protocol, headers: { host: 'console.example', cookie } }) as FastifyRequest

t.test('with TLS, a cookie that another host of the domain can set is ignored', async (t) => {
  t.equal(readCookie(request('https', 'edge-session=planted'), SESSION_COOKIE), undefined)
  t.equal(readCookie(request('https', 'edge-session=planted; __Host-edge-session=own'), SESSION_COOKIE), 'own')
})

t.test('without TLS, the protected form comes first', async (t) => {
  t.equal(readCookie(request('http', 'edge-session=plain'), SESSION_COOKIE), 'plain')
  t.equal(readCookie(request('http', 'edge-session=plain; __Host-edge-session=own'), SESSION_COOKIE), 'own')
})
