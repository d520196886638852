"""The vocabulary of chest X-ray findings: 36 objects, 68 attributes and 5 categories.

Names as MIMIC-CXR-VQA spells them (Bae et al. 2023, arXiv:2310.18652, from the Chest ImaGenome
relations), each with what people say instead.
"""

from __future__ import annotations

from collections.abc import Iterator

_SIDED = {
    "apical zone": "apex|lung apex|apical region|apical area",
    "breast": "",
    "chest wall": "",
    "clavicle": "collarbone",
    "costophrenic angle": "cp angle|costophrenic sulcus|costophrenic recess",
    "hemidiaphragm": "diaphragm|hemi-diaphragm",
    "hilar structures": "hilum|hila|hilar structure|hilar region",
    "lower lung zone": "lower lung|lower lobe|lung base|base|lower zone|lower lung field",
    "lung": "",
    "mid lung zone": "mid lung|middle lung zone|middle lung|midlung|mid zone|midlung zone",
    "shoulder": "",
    "upper lung zone": "upper lung|upper lobe|upper zone|upper lung field",
}
_UNPAIRED = {
    "abdomen": "",
    "aortic arch": "aortic knob|arch of the aorta",
    "cardiac silhouette": "heart silhouette|cardiac shadow|heart shadow",
    "carina": "",
    "cavoatrial junction": "cavo-atrial junction",
    "mediastinum": "",
    "neck": "",
    "right atrium": "",
    "spine": "vertebral column",
    "svc": "superior vena cava",
    "trachea": "windpipe",
    "upper mediastinum": "superior mediastinum",
}

OBJECTS: dict[str, tuple[str, ...]] = {
    **{name: tuple(filter(None, words.split("|"))) for name, words in _UNPAIRED.items()},
    **{
        f"{side} {name}": tuple(f"{side} {word}" for word in filter(None, words.split("|")))
        for side in ("left", "right")
        for name, words in _SIDED.items()
    },
}

_ATTRIBUTES = {
    "airspace opacity": "airspace opacification|air space opacity|airspace opacities|"
    "air space opacities",
    "alveolar hemorrhage": "alveolar haemorrhage|alveolar bleeding|pulmonary hemorrhage",
    "aspiration": "",
    "atelectasis": "atelectases|atelectatic changes",
    "bone lesion": "bony lesion|osseous lesion",
    "breast/nipple shadows": "breast shadow|nipple shadow|breast/nipple shadow|"
    "breast or nipple shadow|breast or nipple shadows",
    "cabg grafts": "cabg graft|cabg|bypass grafts|coronary bypass grafts|"
    "coronary artery bypass grafts",
    "calcified nodule": "",
    "cardiac pacer and wires": "cardiac pacer|pacemaker|pacer|pacemaker wires|pacemaker and wires|"
    "cardiac pacemaker|pacer wires|cardiac pacer or wires|icd leads",
    "chest port": "port-a-cath|portacath|mediport|port a cath",
    "chest tube": "thoracostomy tube|pleural tube",
    "clavicle fracture": "fractured clavicle|clavicular fracture|collarbone fracture|"
    "fracture of the clavicle",
    "consolidation": "",
    "copd/emphysema": "copd|emphysema|copd or emphysema|emphysematous changes",
    "costophrenic angle blunting": "blunting of the costophrenic angle|blunted costophrenic angle|"
    "cp angle blunting|blunting of the cp angle|blunted cp angle",
    "cyst/bullae": "cyst|bulla|bullae|cysts or bullae|cyst or bullae|cysts/bullae",
    "elevated hemidiaphragm": "raised hemidiaphragm|hemidiaphragm elevation|"
    "elevation of the hemidiaphragm|elevated diaphragm",
    "endotracheal tube": "et tube|ett|breathing tube|endotracheal intubation tube",
    "enlarged cardiac silhouette": "cardiomegaly|enlarged heart|heart enlargement|"
    "cardiac enlargement|enlargement of the cardiac silhouette|enlarged cardiac silhouettes",
    "enlarged hilum": "hilar enlargement|enlarged hila|enlargement of the hilum",
    "enteric tube": "ng tube|nasogastric tube|feeding tube|orogastric tube|og tube|dobhoff tube|"
    "dobhoff|gastric tube",
    "fluid overload/heart failure": "fluid overload|heart failure|chf|congestive heart failure|"
    "volume overload|fluid overload or heart failure",
    "goiter": "goitre",
    "granulomatous disease": "granuloma|granulomas",
    "hernia": "hiatal hernia|hiatus hernia",
    "hydropneumothorax": "hydro-pneumothorax|hydropneumothoraces",
    "hyperaeration": "hyperinflation|hyperinflated lungs|hyper-aeration",
    "ij line": "ij|internal jugular line|internal jugular catheter|jugular line|ij catheter",
    "increased reticular markings/ild pattern": "increased reticular markings|ild pattern|"
    "reticular markings|increased reticular markings or ild pattern|interstitial markings",
    "infiltration": "infiltrate|infiltrates",
    "interstitial lung disease": "ild",
    "intra-aortic balloon pump": "iabp|balloon pump|intraaortic balloon pump|aortic balloon pump",
    "linear/patchy atelectasis": "linear atelectasis|patchy atelectasis|"
    "linear or patchy atelectasis",
    "lobar/segmental collapse": "lobar collapse|segmental collapse|lung collapse|"
    "lobar or segmental collapse",
    "low lung volumes": "low lung volume|reduced lung volumes|small lung volumes",
    "lung cancer": "bronchogenic carcinoma|lung carcinoma|lung malignancy",
    "lung lesion": "",
    "lung opacity": "pulmonary opacity|opacity|lung opacification|lung opacities|"
    "pulmonary opacities|opacities",
    "mass/nodule (not otherwise specified)": "mass/nodule|mass|nodule|lung nodule|lung mass|"
    "pulmonary nodule|pulmonary mass|mass or nodule",
    "mediastinal displacement": "mediastinal shift|displaced mediastinum|"
    "displacement of the mediastinum",
    "mediastinal drain": "mediastinal tube",
    "mediastinal widening": "widened mediastinum|wide mediastinum|widening of the mediastinum",
    "multiple masses/nodules": "multiple masses|multiple nodules|multiple masses or nodules",
    "pericardial effusion": "fluid around the heart",
    "picc": "picc line|peripherally inserted central catheter",
    "pleural effusion": "effusion|fluid in the pleural space",
    "pleural/parenchymal scarring": "pleural scarring|parenchymal scarring|lung scarring|scarring|"
    "pleural or parenchymal scarring",
    "pneumomediastinum": "mediastinal air",
    "pneumonia": "",
    "pneumothorax": "ptx|pneumothoraces|collapsed lung",
    "prosthetic valve": "heart valve prosthesis|valve replacement|artificial valve|"
    "artificial heart valve",
    "pulmonary edema/hazy opacity": "pulmonary edema|pulmonary oedema|hazy opacity|lung edema|"
    "hazy opacities|pulmonary edema or hazy opacity",
    "rib fracture": "fractured rib|broken rib|broken ribs|fractured ribs",
    "rotated": "rotation|patient rotation",
    "scoliosis": "",
    "shoulder osteoarthritis": "shoulder arthritis|osteoarthritis of the shoulder",
    "spinal degenerative changes": "degenerative changes of the spine|spinal degeneration|"
    "degenerative spine changes|spinal degenerative change|degenerative spinal changes|"
    "degenerative changes in the spine",
    "spinal fracture": "vertebral fracture|fracture of the spine|compression fracture",
    "sub-diaphragmatic air": "subdiaphragmatic air|free air under the diaphragm|free air|"
    "air under the diaphragm|pneumoperitoneum",
    "subclavian line": "subclavian catheter|subclavian central line",
    "subcutaneous air": "subcutaneous emphysema|subcutaneous gas",
    "superior mediastinal mass/enlargement": "superior mediastinal mass|"
    "superior mediastinal enlargement|superior mediastinal mass or enlargement",
    "swan-ganz catheter": "swan ganz catheter|swan ganz|swan-ganz|pulmonary artery catheter|"
    "pa catheter",
    "tortuous aorta": "aortic tortuosity|tortuosity of the aorta",
    "tracheostomy tube": "tracheostomy|trach tube|trach",
    "vascular calcification": "calcified vessels|aortic calcification|calcified aorta",
    "vascular congestion": "pulmonary vascular congestion|congested vessels|pulmonary congestion",
    "vascular redistribution": "cephalization|redistribution of the vessels|"
    "pulmonary vascular redistribution",
}
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    name: tuple(filter(None, words.split("|"))) for name, words in _ATTRIBUTES.items()
}

CATEGORIES: dict[str, tuple[str, ...]] = {
    "anatomicalfinding": ("anatomical finding", "anatomic finding", "anatomy finding"),
    "device": ("device", "medical device", "implanted device"),
    "disease": ("disease",),
    "technicalassessment": ("technical assessment", "technical finding", "technical issue"),
    "tubesandlines": (
        "tube/line",
        "tubes/line",
        "tubes and lines",
        "tube and line",
        "tubes or lines",
        "tube or line",
        "lines and tubes",
        "lines or tubes",
        "line or tube",
        "lines/tubes",
        "line/tube",
    ),
}


def entries() -> Iterator[tuple[str, str, str]]:
    """(type, words, name) for every name and what people say instead; types attr, obj, cat."""
    for kind, names in (("attr", ATTRIBUTES), ("obj", OBJECTS), ("cat", CATEGORIES)):
        for name, words in names.items():
            yield kind, name, name
            yield from ((kind, word, name) for word in words)


# The category of each attribute (MIMIC-CXR-VQA, Bae et al. 2023, arXiv:2310.18652).
_FEW: dict[str, frozenset[str]] = {
    "device": frozenset({"cabg grafts", "cardiac pacer and wires", "prosthetic valve"}),
    "disease": frozenset(
        {
            "alveolar hemorrhage",
            "aspiration",
            "copd/emphysema",
            "fluid overload/heart failure",
            "goiter",
            "granulomatous disease",
            "interstitial lung disease",
            "lung cancer",
            "pericardial effusion",
            "pneumonia",
        }
    ),
    "technicalassessment": frozenset({"breast/nipple shadows", "low lung volumes", "rotated"}),
    "tubesandlines": frozenset(
        {
            "chest port",
            "chest tube",
            "endotracheal tube",
            "enteric tube",
            "ij line",
            "intra-aortic balloon pump",
            "mediastinal drain",
            "picc",
            "subclavian line",
            "swan-ganz catheter",
            "tracheostomy tube",
        }
    ),
}

CATEGORY_OF: dict[str, str] = {
    name: next((kind for kind, few in _FEW.items() if name in few), "anatomicalfinding")
    for name in ATTRIBUTES
}
