import { readFileSync } from 'node:fs'
import t from 'tap'
import { defaultConfig } from '../../../test/support/default-config.ts'
import { balancerFindings } from '../src/commands/doctor.ts'

const findingsOf = (text: string) => balancerFindings('balancer', text, defaultConfig)
const statusesOf = (text: string) => findingsOf(text).map(({ status }) => status)

t.test('the file of HAProxy that the packages contain fits the defaults', async (t) => {
  t.strictSame(statusesOf(readFileSync('config/haproxy.cfg', 'utf8')), ['ok', 'ok'])
})

t.test('each timeout of HAProxy that does not fit has its line as the fix', async (t) => {
  const found = findingsOf(`defaults
    # timeout server 10m
    timeout server 30s # too short
    timeout http-keep-alive 75000
backend slow
    timeout server 10m
`)
  t.match(found, [
    {
      status: 'failed',
      text: 'timeout server is 30 s, cluster.limits.slowTimeout is 2 min: the balancer ends requests before the edge has answered',
      fix: 'in balancer:3: timeout server 144s',
    },
    { status: 'ok' },
    {
      status: 'failed',
      text: 'timeout http-keep-alive is 75 s, listen.timeouts.idle is 72 s: the edge closes connections that the balancer uses',
      fix: 'in balancer:4: timeout http-keep-alive 57600ms',
    },
  ])
  t.strictSame(statusesOf('timeout server 0\ntimeout client 30s'), ['ok', 'ok'], '0 is no timeout')
})

t.test('without timeout http-keep-alive, HAProxy takes another one', async (t) => {
  t.match(findingsOf('timeout client 75s\ntimeout http-request 10s'), [
    { status: 'ok', text: /^timeout http-request is 10 s/ },
  ])
  t.match(findingsOf('timeout client 75s'), [{ status: 'failed', fix: 'in balancer:1: timeout client 57600ms' }])
})

t.test('timeouts of nginx, with its defaults', async (t) => {
  const location = 'location / { proxy_pass http://edge; }'
  t.match(findingsOf(location), [
    { status: 'failed', text: /^proxy_read_timeout is 60 s by default/, fix: 'in balancer: proxy_read_timeout 144s;' },
  ])
  const group = 'upstream edge {\n server 10.0.0.1:55000;\n keepalive 16;\n keepalive_timeout 2m;\n}\n'
  const clients = 'keepalive_timeout 300s;\n'
  const found = findingsOf(`${clients}${group}server { proxy_read_timeout 2m 30s; ${location} }`)
  t.match(found, [{ status: 'ok' }, { status: 'failed', fix: 'in balancer:5: keepalive_timeout 57600ms;' }])
  t.equal(found.length, 2, 'the timeout of clients is another one')
  const withoutTimeout = group.replace(' keepalive_timeout 2m;\n', '')
  t.match(findingsOf(`${withoutTimeout}${location}`)[1], {
    status: 'ok',
    text: /^keepalive_timeout is 60 s by default/,
  })
  t.equal(findingsOf(`upstream edge { server a; }\n${location}`).length, 1, 'no connection stays open')
})

t.test('a file without timeouts is no silent success', async (t) => {
  t.match(findingsOf('frontend api\n  bind :80\n'), [{ status: 'warning', fix: /^name the file/ }])
})
