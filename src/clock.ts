/** Time comes in as a parameter, so that tests can set it and one transaction has one `now`. */
export type Clock = () => Date;

export const systemClock: Clock = () => new Date();
