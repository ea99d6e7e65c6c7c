/** Building blocks of fictional people and places. Cities, states and zip codes fit together; streets are made up. */

export const FIRST_NAMES = [
  ...['Ada', 'Bruno', 'Carla', 'Dmitri', 'Elena', 'Farid', 'Grace', 'Hugo', 'Imani', 'Jonas', 'Keiko'],
  ...['Liam', 'Maya', 'Noor', 'Oscar', 'Priya', 'Quinn', 'Rosa', 'Samuel', 'Tara', 'Ulrich', 'Vera'],
  ...['Wesley', 'Ximena', 'Yusuf', 'Zoe'],
] as const;

export const LAST_NAMES = [
  ...['Abbott', 'Brandt', 'Castillo', 'Dorsey', 'Eklund', 'Fontaine', 'Granger', 'Holloway', 'Ibarra'],
  ...['Jansen', 'Kowalski', 'Lindqvist', 'Marlowe', 'Nakamura', "O'Neill", 'Pereira', 'Quill', 'Rosario'],
  ...['Sandoval', 'Thorne', 'Underhill', 'Vasquez', 'Whitlock', 'Young-Baker', 'Zimmer'],
] as const;

export const JOB_TITLES = [
  ...['Accountant', 'Baker', 'Driver', 'Nurse', 'Office manager', 'Receptionist', 'Shift lead'],
  ...['Software engineer', 'Store clerk', 'Technician'],
] as const;

export const STREETS = [
  'Alder Way',
  'Birch Lane',
  'Foundry Road',
  'Juniper Court',
  'Old Mill Street',
] as const;

export const PLACES = [
  { city: 'Austin', state: 'TX', zip_code: '78701' },
  { city: 'Boise', state: 'ID', zip_code: '83702' },
  { city: 'Columbus', state: 'OH', zip_code: '43215' },
  { city: 'Denver', state: 'CO', zip_code: '80202' },
  { city: 'Portland', state: 'ME', zip_code: '04101' },
  { city: 'Sacramento', state: 'CA', zip_code: '95814' },
  { city: 'Tampa', state: 'FL', zip_code: '33602' },
  { city: 'Washington', state: 'DC', zip_code: '20001' },
] as const;
