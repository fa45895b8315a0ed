const COLOUR_COUNT = 10;

/** Returns the class that colours what belongs to a service. @param services of the trace, in a fixed order. */
export function serviceClass(service: string, services: readonly string[]): string {
  return `service-${Math.max(0, services.indexOf(service)) % COLOUR_COUNT}`;
}

/** Returns the variables of the style sheet with the colours of services. */
export function serviceVariables(): string[] {
  return Array.from({ length: COLOUR_COUNT }, (_, i) => `--service-${i}`);
}
