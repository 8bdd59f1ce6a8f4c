// Requests /livez of the operations listener, for the HEALTHCHECK of the container image. If the configuration uses another
// port, set it by EDGE_OPERATIONS_PORT. Tries HTTP and HTTPS. On loopback, the certificate need not be verified.
import { get as plain } from 'node:http'
import { get as tls } from 'node:https'

const { EDGE_OPERATIONS_PORT: port = '55001' } = process.env

const alive = (get, scheme) =>
  new Promise((resolve) => {
    const options = { timeout: 2000, rejectUnauthorized: false }
    get(`${scheme}://127.0.0.1:${port}/livez`, options, (answer) => resolve(answer.resume().statusCode === 200))
      .on('timeout', () => resolve(false))
      .on('error', () => resolve(false))
  })

const [first, second] = await Promise.all([alive(plain, 'http'), alive(tls, 'https')])
process.exit(first || second ? 0 : 1)
