"""A small demo EHR, and a small MIMIC-IV release written by hand."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ehrqa_cli.ehr.backend.sqlite import SqliteDatabase
from ehrqa_cli.ehr.demo.make import build_demo

RELEASE: dict[str, list[str]] = {
    "hosp/patients": [
        "subject_id,gender,anchor_age,anchor_year,anchor_year_group,dod",
        "1,F,50,2150,2011 - 2013,",
        "2,M,70,2180,2014 - 2016,2182-03-01",
        "3,F,30,2160,2014 - 2016,",
    ],
    "hosp/admissions": [
        "subject_id,hadm_id,admittime,dischtime,deathtime,admission_type,admission_location,"
        "discharge_location,insurance,language,marital_status,race",
        "1,11,2150-03-01 10:00:00,2150-03-05 12:00:00,,URGENT,EMERGENCY ROOM,HOME,Other,ENGLISH,,A",
        '1,12,2152-06-01 08:30:00,2152-06-02 08:30:00,,"EW EMER.",EMERGENCY ROOM,HOME,Other,?,,A',
        "2,21,2180-12-20 22:00:00,2181-01-09 10:00:00,,URGENT,CLINIC,DIED,Medicare,ENGLISH,,B",
    ],
    "hosp/d_icd_diagnoses": [
        "icd_code,icd_version,long_title",
        "4019,9,Unspecified essential hypertension",
        'I10,10,"Essential (primary) hypertension"',
        "D649,10,Anemia",
        "2859,9,Anemia",
        "V722,9,Dental examination",
    ],
    "hosp/d_icd_procedures": [
        "icd_code,icd_version,long_title",
        "8931,9,Dental examination",
        "3961,9,Extracorporeal circulation",
    ],
    "hosp/d_labitems": [
        "itemid,label,fluid,category",
        "50912,Creatinine,Blood,Chemistry",
        "50971,Potassium,Blood,Chemistry",
        "51237,INR(PT),Blood,Hematology",
    ],
    "icu/d_items": [
        "itemid,label,abbreviation,linksto,category,unitname,param_type,lownormalvalue,high",
        "220045,Heart Rate,HR,chartevents,Routine,bpm,Numeric,,",
        "220179,Non Invasive Blood Pressure systolic,NBPs,chartevents,Routine,mmHg,Numeric,,",
        "225798,Vancomycin,Vancomycin,inputevents,Antibiotics,dose,Solution,,",
        "226559,Foley,Foley,outputevents,Output,mL,Numeric,,",
        "224275,20 Gauge,20 Gauge,procedureevents,Lines,None,Process,,",
    ],
    "hosp/diagnoses_icd": [
        "subject_id,hadm_id,seq_num,icd_code,icd_version",
        "1,11,1,4019,9",
        "1,11,2,2859,9",
        "2,21,1,I10,10",
    ],
    "hosp/procedures_icd": [
        "subject_id,hadm_id,seq_num,chartdate,icd_code,icd_version",
        "1,11,1,2150-03-01,3961,9",
        "1,11,2,2150-03-03,3961,9",
    ],
    "hosp/labevents": [
        "labevent_id,subject_id,hadm_id,specimen_id,itemid,order_provider_id,charttime,storetime,"
        "value,valuenum,valueuom,ref_range_lower,ref_range_upper,flag,priority,comments",
        "1,1,11,7,50912,,2150-03-01 11:00:00,,2.5,2.5,mg/dL,0.5,1.2,abnormal,STAT,",
        "2,1,11,7,51237,,2150-03-01 11:00:00,,1.1,1.1,,0.9,1.1,,STAT,",
        '3,1,11,7,50971,,2150-03-02 11:00:00,,___,,mEq/L,3.3,5.1,,STAT,"HEMOLYZED,\nREPEAT"',
        "4,1,,7,50912,,2150-04-02 11:00:00,,0.9,0.9,mg/dL,0.5,1.2,,ROUTINE,",
        "5,2,21,7,50912,,2181-01-05 06:00:00,,1.0,1.0,mg/dL,0.5,1.2,,ROUTINE,",
    ],
    "hosp/prescriptions": [
        "subject_id,hadm_id,pharmacy_id,starttime,stoptime,drug_type,drug,dose_val_rx,"
        "dose_unit_rx,route",
        "1,11,1,2150-03-01 12:00:00,2150-03-02 12:00:00,MAIN,Vancomycin,1000,mg,IV",
        '1,11,2,2150-03-01 12:00:00,2150-03-02 12:00:00,MAIN,Epoetin,"20,000",UNIT,SC',
        "1,11,3,2150-03-01 12:00:00,2150-03-02 12:00:00,MAIN,Senna,8.6,mg,PO",
        "1,11,4,2150-03-01 12:00:00,2150-03-02 12:00:00,MAIN,Oxycodone,5-10,mg,PO",
        "1,11,5,,2150-03-02 12:00:00,MAIN,Senna,1,TAB,PO",
    ],
    "icu/chartevents": [
        "subject_id,hadm_id,stay_id,caregiver_id,charttime,storetime,itemid,value,valuenum,"
        "valueuom,warning",
        "1,11,31,5,2150-03-01 13:00:00,,220045,88,88,bpm,0",
        "1,11,31,5,2150-03-01 13:00:00,,220179,120,120,mmHg,0",
        "1,99,31,5,2150-03-01 13:00:00,,220045,88,88,bpm,0",
    ],
    "icu/inputevents": [
        "subject_id,hadm_id,stay_id,starttime,endtime,itemid,amount,totalamount,totalamountuom",
        "1,11,31,2150-03-01 13:00:00,2150-03-01 14:00:00,225798,1,200,ml",
        "1,11,31,2150-03-01 15:00:00,2150-03-01 16:00:00,225798,1,,",
    ],
    "icu/outputevents": [
        "subject_id,hadm_id,stay_id,charttime,storetime,itemid,value,valueuom",
        "1,11,31,2150-03-01 13:00:00,2150-03-01 14:00:00,226559,300,ml",
    ],
    "hosp/microbiologyevents": [
        "subject_id,hadm_id,chartdate,charttime,spec_type_desc,test_name,org_name",
        "1,11,2150-03-01 00:00:00,2150-03-01 15:00:00,URINE,URINE CULTURE ,ESCHERICHIA COLI",
        '1,11,2150-03-02 00:00:00,,BLOOD CULTURE,"Blood Culture, Routine",',
    ],
    "icu/icustays": [
        "subject_id,hadm_id,stay_id,first_careunit,last_careunit,intime,outtime,los",
        "1,11,31,MICU,MICU,2150-03-01 12:00:00,2150-03-02 12:00:00,1",
    ],
    "hosp/transfers": [
        "subject_id,hadm_id,transfer_id,eventtype,careunit,intime,outtime",
        "1,11,41,admit,Medicine,2150-03-01 10:00:00,2150-03-05 12:00:00",
        "1,11,42,discharge,,2150-03-05 12:00:00,",
        "3,,43,ED,Emergency Department,2160-01-01 00:00:00,2160-01-01 03:00:00",
    ],
}
MakeRelease = Callable[..., Path]


@pytest.fixture
def release(tmp_path: Path) -> MakeRelease:
    """Writes the release into a folder: ``release(**{"hosp/labevents": lines or None})``."""

    def make(changes: dict[str, list[str] | None] | None = None, zipped: bool = False) -> Path:
        folder = tmp_path / "release"
        for name, lines in {**RELEASE, **(changes or {})}.items():
            path = folder / f"{name}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            if lines is None:
                continue
            data = ("\n".join(lines) + "\n").encode()
            if zipped:
                path.with_name(path.name + ".gz").write_bytes(gzip.compress(data))
            else:
                path.write_bytes(data)
        return folder

    return make


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo EHR of 25 patients, in a folder of its own."""
    path = tmp_path_factory.mktemp("demo") / "demo.sqlite"
    build_demo(path, patients=25)
    return path


@pytest.fixture
def demo(demo_file: Path) -> Iterator[SqliteDatabase]:
    """The demo EHR, open."""
    database = SqliteDatabase.open(demo_file)
    yield database
    database.close()
