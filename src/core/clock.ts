/** Two clocks: `wall` (milliseconds since 1970) for what tokens say, `elapsed` (milliseconds, never stepped) for how long. */
export interface Clock {
  wall(): number
  elapsed(): number
}

export const systemClock: Clock = { wall: () => Date.now(), elapsed: () => performance.now() }
