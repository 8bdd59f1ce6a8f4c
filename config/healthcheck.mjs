// Asks /livez of the operations listener; for the HEALTHCHECK of the container image. Where the settings choose
// another port, tell it by the same variable: EDGE_OPERATIONS_PORT.
const { EDGE_OPERATIONS_PORT: port = '55001' } = process.env

try {
  const { ok } = await fetch(`http://127.0.0.1:${port}/livez`, { signal: AbortSignal.timeout(2000) })
  process.exitCode = ok ? 0 : 1
} catch {
  process.exitCode = 1
}
